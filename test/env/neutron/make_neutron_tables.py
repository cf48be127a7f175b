"""Makes Neutron's tables in an SQLite file: make_neutron_tables.py FILE.

Neutron's own migrations do not run on SQLite ("No support for ALTER of constraints"); its models do.
"""
import sys

from neutron.db.migration.models import head
from sqlalchemy import create_engine

head.get_metadata().create_all(create_engine(f"sqlite:///{sys.argv[1]}"))
