// Sends fetch() through HTTPS_PROXY in releases of Node.js that have no NODE_USE_ENV_PROXY.
//
// `ccwire run` loads it with NODE_OPTIONS into programs other than the client. A program that sets
// a dispatcher of its own is not affected.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const tls = require("node:tls");

// Where undici, which implements fetch(), keeps its connection pool.
const POOL = Symbol.for("undici.globalDispatcher.1");

const [major, minor] = process.versions.node.split(".").map(Number);
const knowsProxies = major >= 24 || (major === 22 && minor >= 21);
const isClient = /@anthropic-ai[\\/]claude-/.test(realPath(process.argv[1] ?? ""));
const proxy = process.env.HTTPS_PROXY;

if (proxy && !knowsProxies && !isClient) {
  void globalThis.Headers; // loads undici, which creates its pool
  const Pool = globalThis[POOL]?.constructor;
  if (Pool) globalThis[POOL] = new Pool({ connect });
}

function realPath(path) {
  try {
    return fs.realpathSync(path); // npm installs the client's command as a link
  } catch {
    return path;
  }
}

function connect({ hostname, port, protocol, servername }, callback) {
  const secure = protocol === "https:";
  const target = { host: hostname, port: Number(port) || (secure ? 443 : 80) };
  const ready = (socket) => {
    socket.off("error", callback);
    socket.setNoDelay(true);
    callback(null, socket);
  };
  const finish = (socket) => {
    if (!secure) return ready(socket);
    const name = servername || (net.isIP(hostname) ? "" : hostname);
    const encrypted = tls.connect({ socket, servername: name, ALPNProtocols: ["http/1.1"] });
    encrypted.once("error", callback).once("secureConnect", () => ready(encrypted));
  };
  if (isDirect(hostname)) {
    const socket = net.connect(target);
    socket.once("error", callback).once("connect", () => finish(socket));
    return;
  }
  const { hostname: host, port: proxyPort, username, password } = new URL(proxy);
  const path = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${target.port}`;
  const headers = { host: path };
  if (password) {
    const secret = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    headers["proxy-authorization"] = `Basic ${Buffer.from(secret).toString("base64")}`;
  }
  const to = { host, port: proxyPort, method: "CONNECT", path, headers, agent: false };
  const request = http.request(to);
  request.once("error", callback).once("connect", (response, socket) => {
    if (response.statusCode === 200) return finish(socket);
    socket.destroy();
    callback(new Error(`the proxy refused ${path}: ${response.statusCode}`));
  });
  request.end();
}

function isDirect(hostname) {
  const names = (process.env.NO_PROXY ?? "").split(",").map((name) => name.trim().toLowerCase());
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  return names.some((name) => {
    const suffix = name.replace(/^\*?\./, "");
    return name === "*" || (suffix !== "" && (host === suffix || host.endsWith(`.${suffix}`)));
  });
}
