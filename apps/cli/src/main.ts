import { enableCompileCache } from "node:module";
import { VERSION } from "./version.ts";

// `yard` names the directory of compiled code before this file is read. A program that starts this file itself gets Node's own.
if (process.env["NODE_COMPILE_CACHE"] === undefined) enableCompileCache();

const [only, ...others] = process.argv.slice(2);
if (others.length === 0 && (only === "--version" || only === "-V")) console.log(VERSION);
// A coding agent waits for its tools: without the command line's own parts they are there in half of the time.
else if (only === "mcp" && others.join(" ") === "serve")
  process.exitCode = await (await import("./commands/mcp-serve.ts")).serve({ tools: "platform" });
else await (await import("./command-line.ts")).runCommandLine(process.argv.slice(2));
