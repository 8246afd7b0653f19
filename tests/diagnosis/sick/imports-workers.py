# SPDX-License-Identifier: MIT
"""A spawned worker for each processor; each imports a lot for tasks that take next to nothing."""
import multiprocessing
import os


def parse(number):
    import asyncio
    import concurrent.futures
    import email.message
    import http.server
    import logging.config
    import pydoc
    import sqlite3
    import unittest.mock
    import urllib.request
    import xml.dom.minidom
    import xmlrpc.client
    return number + len([asyncio, concurrent, email, http, logging, pydoc, sqlite3, unittest,
                         urllib, xml, xmlrpc])


if __name__ == "__main__":
    workers = len(os.sched_getaffinity(0))
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.map(parse, range(8 * workers), chunksize=1)
