import { fileURLToPath } from "node:url";

/** The model's answers in every agent here: five answers, five calls. */
export const CALLS: readonly (readonly string[])[] = [
  ["one", "two"],
  ["three"],
  ["four"],
  ["five"],
];
export const ANSWER = "done";

/** The MCP server that all of them call, over stdio. */
export const ECHO_SERVER = {
  command: process.execPath,
  args: [fileURLToPath(new URL("../broker/echo-server.ts", import.meta.url))],
};
