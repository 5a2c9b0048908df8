"""Who may use this server and how: the config file, names from a login, roles, and what is open to strangers."""
