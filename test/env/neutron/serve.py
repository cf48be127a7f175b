"""Serves a WSGI application of OpenStack: serve.py MODULE PORT HOST.

One thread: SQLite lets one write at a time, and refuses the others.
"""
import importlib
import sys

import waitress

module, port, host = sys.argv[1:]
# The module reads its configuration when it is imported, and would take our arguments for its own.
del sys.argv[1:]
application = importlib.import_module(module).application
waitress.serve(application, host=host, port=int(port), threads=1, channel_timeout=600)
