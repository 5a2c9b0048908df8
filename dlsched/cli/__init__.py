"""The command line: the same calls as the pages. Each command is a module that is imported when it is used."""
