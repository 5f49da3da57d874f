// An agent of the Agent Client Protocol that does what a hostile one would try: each line of its prompt is an attempt, and its
// answer lists the outcome of each. `end <code>` ends it in the middle, with a last line on standard error.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

type Outcome = string | number | void | undefined;

const ATTEMPTS: Readonly<Record<string, (on: string) => Outcome | Promise<Outcome>>> = {
  read: (path) => readFileSync(path, "utf8").trim().split("\n").slice(0, 3).join(" "),
  list: (path) => readdirSync(path).toSorted().join(" "),
  write: (path) => writeFileSync(path, "changed"),
  processes: () => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length,
  seccomp: () => /^Seccomp:\t(\d)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1],
  dial: (address) =>
    new Promise((resolve, reject) => {
      const [host = "", port = ""] = address.split(":");
      connect(Number(port), host, () => resolve("connected")).once("error", reject);
    }),
  get: async (url) => (await fetch(url)).text(),
  /** Through the proxy that the environment names. */
  tunnel: (address) =>
    new Promise((resolve, reject) => {
      const proxy = new URL(process.env["HTTPS_PROXY"] ?? "");
      const socket = connect(Number(proxy.port), proxy.hostname, () =>
        socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n\r\n`),
      );
      socket.once("error", reject);
      socket.once("data", (data: Buffer) => resolve(data.toString().split("\r\n")[0]));
    }),
  end: (code) => {
    process.stderr.write("out of order\n");
    process.exit(Number(code));
  },
};

agent({ name: "spying-agent" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: {},
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "one" }))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const lines = prompt.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    for (const line of lines.split("\n")) {
      const [, name = "", on = ""] = /^(\w+) ?(.*)$/.exec(line) ?? [];
      const attempt = ATTEMPTS[name];
      if (attempt === undefined) continue;
      const text = `${line} = ${await outcomeOf(() => attempt(on))}\n`;
      const update = {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text },
      } as const;
      await client.notify(methods.client.session.update, { sessionId, update });
    }
    return { stopReason: "end_turn" as const };
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout),
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  );

async function outcomeOf(attempt: () => Outcome | Promise<Outcome>): Promise<string> {
  try {
    return String((await attempt()) ?? "done");
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}
