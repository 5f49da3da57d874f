// An MCP server over stdio, built on the official server SDK, with one tool for each behaviour that a test needs.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { until } from "@switchyard/local-servers/until";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

serveStdio(() => {
  const server = new McpServer(
    { name: "fixture", version: "1.2.3" },
    { capabilities: { tools: { listChanged: true } } },
  );

  server.registerTool(
    "echo",
    { description: "Says it again", inputSchema: z.object({ message: z.string() }) },
    ({ message }) => text(message),
  );
  server.registerTool(
    "count",
    { description: "Appends a line to a file", inputSchema: z.object({ file: z.string() }) },
    async ({ file }) => {
      await appendFile(file, "called\n");
      return text("counted");
    },
  );
  server.registerTool(
    "hang",
    {
      description: "Never answers; writes a line when it begins and one when it is told to stop",
      inputSchema: z.object({ file: z.string() }),
    },
    async ({ file }, context) => {
      const cancelled = new Promise<void>((resolve) => {
        context.mcpReq.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await appendFile(file, "begun\n");
      await cancelled;
      await appendFile(file, "cancelled\n");
      return text("too late");
    },
  );
  server.registerTool(
    "wait",
    {
      description: "Writes a line when it begins and answers when another file exists",
      inputSchema: z.object({ file: z.string(), until: z.string() }),
    },
    async ({ file, until: signal }) => {
      await appendFile(file, "begun\n");
      await until(() => existsSync(signal));
      return text("done");
    },
  );
  server.registerTool(
    "big",
    { description: "Returns many bytes", inputSchema: z.object({ bytes: z.number() }) },
    ({ bytes }) => text("x".repeat(bytes)),
  );
  server.registerTool(
    "tool_error",
    { description: "Fails as a tool", inputSchema: z.object({}) },
    () => ({
      ...text("the disk is full"),
      isError: true,
    }),
  );
  server.registerTool(
    "environment",
    { description: "Its whole environment", inputSchema: z.object({}) },
    () => text(JSON.stringify(process.env)),
  );
  server.registerTool(
    "die",
    { description: "Ends in the middle of a call", inputSchema: z.object({}) },
    () => {
      process.stderr.write(`fatal: secret was ${process.env["SECRET"]}\n`);
      process.exit(3);
    },
  );
  server.registerTool(
    "fork",
    { description: "Starts a process that outlives its parent", inputSchema: z.object({}) },
    () => {
      const child = spawn("sleep", ["600"], { stdio: "ignore" });
      child.unref();
      return text(`${process.pid} ${child.pid}`);
    },
  );
  server.registerTool(
    "grow",
    { description: "Adds a tool to the list", inputSchema: z.object({}) },
    () => {
      server.registerTool("grown", { description: "New", inputSchema: z.object({}) }, () =>
        text("new"),
      );
      return text("grown");
    },
  );
  return server;
});
