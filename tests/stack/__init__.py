"""The stack of docker-compose.yml without Docker: real servers, a worker and a feed on loopback, for as long as one likes; `make stack`."""
