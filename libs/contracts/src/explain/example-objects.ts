/** Examples that are objects, and whole requests of which one of several fields is needed. */
export const exampleObjects: Readonly<Record<string, unknown>> = {
  "sessions.send.request": { session: "planning", message: "Please look at the tests, too." },
  "channels.send.request": {
    to: { channel: "telegram", target: { kind: "user", id: "42" } },
    text: "The report is ready.",
  },
  "channels.broadcast.request": {
    to: [{ channel: "telegram", target: { kind: "user", id: "42" } }],
    text: "The report is ready.",
  },
  args: { path: "README.md" },
  "Presentation.args": '{"path":"README.md"}',
  "mcp.prompt.request.args": { path: "README.md" },
  with: { path: "README.md" },
  schema: { type: "string", enum: ["yes", "no"] },
  _meta: { "example.com/trace": "4711" },
  structuredContent: { entries: 3 },
  changes: { timeoutMs: 30_000 },
  declaration: {
    id: "files",
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-filesystem", "."],
  },
  "mcp.add.request.server": {
    id: "files",
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-filesystem", "."],
  },
  definition: { title: "Read a file" },
  issuers: ["https://login.example.com"],
  reactions: ["👍"],
  "sessions.send.request.sender": { tools: [["read_file"]], origin: { channel: "telegram" } },
  "sender.tools": [["read_file"]],
  keyVariable: "ANTHROPIC_API_KEY",
};
