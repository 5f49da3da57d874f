// The smallest conversation that proves which server answers on a port, without a client library.

import { connect as connectTcp, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

export interface ProbeTarget {
  host: string;
  port: number;
  /** TLS from the first byte (`rediss:`). NATS announces its TLS requirement in plain text first, so it never sets this. */
  tls?: boolean;
  username?: string;
  password?: string;
  signal: AbortSignal;
}

export interface NatsAnswer {
  version: string;
  jetstream: boolean;
  serverName: string;
}

/** Reads the INFO line, and where the server asks for no credentials also exchanges PING and PONG. */
export async function probeNats(target: ProbeTarget): Promise<NatsAnswer> {
  return converse(target, async (next, socket) => {
    const greeting = await next();
    if (!greeting.startsWith("INFO "))
      throw new Error(`it is not a NATS server (it says ${JSON.stringify(greeting.slice(0, 60))})`);
    const info: unknown = JSON.parse(greeting.slice("INFO ".length));
    if (typeof info !== "object" || info === null) throw new Error("its INFO line holds no object");
    const facts: Record<string, unknown> = { ...info };
    // Probing an authenticated server without credentials would only leave an error in its log.
    if (facts["auth_required"] !== true && facts["tls_required"] !== true) {
      socket.write('CONNECT {"verbose":false,"name":"yard-probe"}\r\nPING\r\n');
      for (let line = await next(); line !== "PONG"; line = await next()) {
        if (line.startsWith("-ERR")) throw new Error(`it refuses: ${line.slice("-ERR ".length)}`);
      }
    }
    return {
      version: textOf(facts["version"]),
      jetstream: facts["jetstream"] === true,
      serverName: textOf(facts["server_name"]),
    };
  });
}

export interface RedisAnswer {
  /** `valkey` reports its own version here, not the Redis version it imitates. */
  version: string;
  product: "redis" | "valkey";
  processId: number;
}

/** PING until the data set is loaded, then the `server` section of INFO. */
export async function probeRedis(target: ProbeTarget): Promise<RedisAnswer> {
  return converse(target, async (next, socket) => {
    const command = (...words: string[]): boolean =>
      socket.write(
        `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`,
      );
    if (target.password !== undefined) {
      command(
        ...(target.username === undefined
          ? ["AUTH", target.password]
          : ["AUTH", target.username, target.password]),
      );
      const answer = await next();
      if (!answer.startsWith("+OK")) throw new Error(`it refuses the password: ${answer.slice(1)}`);
    }
    command("PING");
    for (let answer = await next(); answer !== "+PONG"; answer = await next()) {
      if (!answer.startsWith("-LOADING")) throw new Error(describeRedisAnswer(answer));
      await delay(LOADING_POLL_MS, undefined, { signal: target.signal });
      command("PING");
    }
    command("INFO", "server");
    const fields = await readInfo(next);
    const valkey = fields.get("valkey_version");
    return {
      version: valkey ?? fields.get("redis_version") ?? "",
      product: valkey === undefined ? "redis" : "valkey",
      processId: Number(fields.get("process_id")),
    };
  });
}

const LOADING_POLL_MS = 50;

type NextLine = () => Promise<string>;

function describeRedisAnswer(answer: string): string {
  if (answer.startsWith("-NOAUTH"))
    return "it wants a password: put it into the URL, as redis://user:password@host:port";
  return answer.startsWith("-")
    ? `it refuses: ${answer.slice(1)}`
    : `it is not a Redis server (it says ${JSON.stringify(answer.slice(0, 60))})`;
}

async function readInfo(next: NextLine): Promise<Map<string, string>> {
  const header = await next();
  if (!header.startsWith("$")) throw new Error(describeRedisAnswer(header));
  let left = Number(header.slice(1));
  const fields = new Map<string, string>();
  while (left > 0) {
    const line = await next();
    left -= Buffer.byteLength(line) + "\r\n".length;
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

async function converse<T>(
  target: ProbeTarget,
  talk: (next: NextLine, socket: Socket) => Promise<T>,
): Promise<T> {
  const { host, port, signal } = target;
  signal.throwIfAborted();
  // A self-signed certificate is the client library's business; the probe sends what the URL itself says.
  const socket =
    target.tls === true ? connectTls({ host, port, servername: host }) : connectTcp({ host, port });
  const abort = (): void => void socket.destroy(new Error("it did not answer in time"));
  signal.addEventListener("abort", abort, { once: true });
  const lines = linesOf(socket.setEncoding("utf8"));
  const next: NextLine = async () => {
    const line = await lines.next();
    if (line.done === true) throw new Error("it closed the connection");
    return line.value;
  };
  try {
    return await talk(next, socket);
  } finally {
    signal.removeEventListener("abort", abort);
    socket.destroy();
  }
}

async function* linesOf(socket: Socket): AsyncGenerator<string, void, void> {
  let rest = "";
  for await (const chunk of socket) {
    const lines = (rest + String(chunk)).split("\r\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
