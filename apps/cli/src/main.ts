import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { VERSION } from "./version.ts";

// Types are stripped and code is compiled once, not at each command. `yard` says so before this file is read; where the
// directory cannot be written, Node.js does without.
delete process.env["NODE_COMPILE_CACHE"];
enableCompileCache(fileURLToPath(new URL("../../../node_modules/.cache/yard", import.meta.url)));

const [only, ...others] = process.argv.slice(2);
if (others.length === 0 && (only === "--version" || only === "-V")) console.log(VERSION);
else await (await import("./command-line.ts")).runCommandLine(process.argv.slice(2));
