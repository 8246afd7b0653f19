# SPDX-License-Identifier: MIT
"""Imports a lot and does little."""
import asyncio
import concurrent.futures
import email.message
import html.parser
import http.server
import inspect
import json
import logging.config
import multiprocessing.pool
import pydoc
import sqlite3
import unittest.mock
import urllib.request
import xml.dom.minidom
import xmlrpc.client

print(len([asyncio, concurrent, email, html, http, inspect, json, logging, multiprocessing, pydoc,
           sqlite3, unittest, urllib, xml, xmlrpc]))
