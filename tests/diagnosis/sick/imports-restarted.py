# SPDX-License-Identifier: MIT
"""A spawned worker for each processor, and a new one after every two tasks. Each imports a lot for
small tasks."""
import multiprocessing
import os


def parse(number):
    import asyncio
    import concurrent.futures
    import decimal
    import doctest
    import email.message
    import ftplib
    import http.server
    import imaplib
    import logging.config
    import mailbox
    import pdb
    import plistlib
    import pydoc
    import smtplib
    import sqlite3
    import statistics
    import tarfile
    import unittest.mock
    import urllib.request
    import wsgiref.simple_server
    import xml.dom.minidom
    import xmlrpc.client
    import zipfile
    return number + len([asyncio, concurrent, decimal, doctest, email, ftplib, http, imaplib,
                         logging, mailbox, pdb, plistlib, pydoc, smtplib, sqlite3, statistics,
                         tarfile, unittest, urllib, wsgiref, xml, xmlrpc, zipfile])


if __name__ == "__main__":
    workers = len(os.sched_getaffinity(0))
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=2) as pool:
        pool.map(parse, range(8 * workers), chunksize=1)
