"""A loopback stand-in for the API, a simulated client, and a driver for the real one."""
