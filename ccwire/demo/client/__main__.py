"""Run the simulated client: `python -m ccwire.demo.client`."""

from ccwire.demo.client.cli import main

if __name__ == "__main__":
    main()
