import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as createSocketServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";

/**
 * The only way from a CLI's sandbox to the network: sockets in a directory that the sandbox shows. One leads to an HTTP proxy that
 * connects only to the hosts that the operator configured; the others lead to ports of this machine, for a model that answers
 * there. Names are resolved here, so the sandbox needs no resolver.
 */
export interface Outlet {
  readonly proxy: string;
  readonly ports: readonly { readonly port: number; readonly socket: string }[];
  /** Hosts to which the CLI was refused a connection. */
  readonly refused: ReadonlySet<string>;
  close(): void;
}

export interface OutletOptions {
  /** The directory of the sockets. */
  readonly directory: string;
  /** `host:port`, in lower case; a host that begins with `*.` matches all hosts below it. */
  readonly hosts: readonly string[];
  /** The company's proxy, to which all connections go; null: directly to the hosts. */
  readonly upstream: URL | null;
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);
const HTTPS = 443;

/** Makes the sockets. Rejects when they cannot be made. */
export async function openOutlet({ directory, hosts, upstream }: OutletOptions): Promise<Outlet> {
  const sockets = new Set<Duplex>();
  const servers: Server[] = [];
  const refused = new Set<string>();
  const listen = async (server: Server, name: string): Promise<string> => {
    const path = join(directory, name);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    servers.push(server);
    return path;
  };
  const track = <S extends Duplex>(socket: S): S => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    return socket;
  };
  const isAllowed = (host: string): boolean => {
    const isNamed = hosts.some((allowed) => matches(allowed, host));
    if (!isNamed) refused.add(host);
    return isNamed;
  };

  const proxy = createServer((asked, reply) => {
    const target = URL.canParse(asked.url ?? "") ? new URL(asked.url ?? "") : null;
    if (target === null || !isAllowed(hostOf(target))) return refuse(reply, asked.url);
    forward(asked, reply, target, upstream);
  });
  proxy.on("connection", track);
  proxy.on("connect", ({ url: host = "" }: IncomingMessage, inner: Duplex, head: Buffer) => {
    if (!isAllowed(host.toLowerCase())) {
      inner.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const { hostname, port } = new URL(`http://${host}`);
    const outer = track(
      upstream === null
        ? connect(Number(port || HTTPS), hostname.replaceAll(/[[\]]/g, ""))
        : connect(Number(upstream.port || 80), upstream.hostname),
    );
    outer.once("connect", () => {
      // The company's proxy answers the CLI itself.
      if (upstream === null) inner.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      else
        outer.write(
          `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${authorizationOf(upstream)}\r\n`,
        );
      outer.write(head);
      inner.pipe(outer).pipe(inner);
    });
    outer.on("close", () => inner.destroy());
    inner.on("close", () => outer.destroy());
  });
  const ports: { port: number; socket: string }[] = [];
  const opened = await listen(proxy, "net");
  for (const { port, host } of loopbackPorts(hosts)) {
    const server = createSocketServer((inner: Socket) => {
      const outer = track(connect(port, host));
      track(inner).pipe(outer).pipe(inner);
      outer.on("close", () => inner.destroy());
      inner.on("close", () => outer.destroy());
    });
    ports.push({ port, socket: await listen(server, `net-${port}`) });
  }
  return {
    proxy: opened,
    ports,
    refused,
    close() {
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function loopbackPorts(hosts: readonly string[]): { port: number; host: string }[] {
  return hosts.flatMap((name) => {
    const { hostname, port } = new URL(`http://${name.replace("*.", "")}`);
    const isLoopback = LOOPBACK.has(hostname) && port !== "";
    return isLoopback
      ? [{ port: Number(port), host: hostname === "[::1]" ? "::1" : hostname }]
      : [];
  });
}

function matches(allowed: string, host: string): boolean {
  return allowed.startsWith("*.") ? host.endsWith(allowed.slice(1)) : allowed === host;
}

/** Returns the host with its port, also where the address omits it. */
export function hostOf({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === "http:" ? 80 : HTTPS)}`.toLowerCase();
}

function refuse(reply: ServerResponse, url: string | undefined): void {
  reply.writeHead(403, { "content-type": "text/plain" });
  reply.end(`${url ?? ""} is not among the hosts that this runtime may reach\n`);
}

// oxlint-disable-next-line max-params -- the two sides of one request, and where it goes
function forward(
  asked: IncomingMessage,
  reply: ServerResponse,
  target: URL,
  upstream: URL | null,
): void {
  const { method, headers } = asked;
  const outer =
    upstream === null
      ? request(target, { method, headers })
      : request({
          host: upstream.hostname,
          port: upstream.port || 80,
          path: target.href,
          method,
          headers,
        });
  outer.on("response", (answer) => {
    reply.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(reply);
  });
  outer.on("error", () => reply.destroy());
  reply.on("close", () => outer.destroy());
  asked.pipe(outer);
}

function authorizationOf({ username, password }: URL): string {
  if (username === "") return "";
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Proxy-Authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}
