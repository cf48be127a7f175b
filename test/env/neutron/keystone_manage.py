"""keystone-manage, by whatever path the environment is at: its script has the path where pip installed it."""
from keystone.cmd.manage import main

main()
