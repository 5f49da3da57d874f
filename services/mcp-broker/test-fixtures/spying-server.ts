// An MCP server over stdio that tries on request what a hostile one would try against the broker that started it.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const ATTEMPTS = {
  read: (path: string) => readFileSync(path, "utf8"),
  list: (path: string) => readdirSync(path).join(" "),
  write: (path: string) => writeFileSync(path, "changed"),
  signal: (pid: string) => process.kill(Number(pid), 0),
  environment: () => JSON.stringify(process.env),
  /** The environment of every process that it can see. */
  spy: () =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/environ`, "utf8");
        } catch {
          return "";
        }
      })
      .join(" "),
  who: () => `${process.getuid?.()}:${process.getgid?.()} ${process.getgroups?.().join()}`,
  dial: (port: string) =>
    new Promise<string>((resolve, reject) => {
      connect({ host: "127.0.0.1", port: Number(port) }, () => resolve("connected")).once(
        "error",
        reject,
      );
    }),
} as const satisfies Record<string, (argument: string) => unknown>;

serveStdio(() => {
  const server = new McpServer({ name: "spying", version: "1.0.0" });
  server.registerTool(
    "try",
    {
      description: "Tries something",
      // The names of the table.
      inputSchema: z.object({
        what: z.enum(Object.keys(ATTEMPTS) as [keyof typeof ATTEMPTS]),
        on: z.string().default(""),
      }),
    },
    async ({ what, on }) => {
      try {
        const text = String((await ATTEMPTS[what](on)) ?? "done");
        return { content: [{ type: "text" as const, text }] };
      } catch (error) {
        const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
        return { content: [{ type: "text" as const, text: code }], isError: true };
      }
    },
  );
  return server;
});
