import { execFileSync } from "node:child_process";
import { buffer } from "node:stream/consumers";
import { chmodSync, createWriteStream, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * A PATH on which `curl` is found, for tests of examples that use it. A base Debian has none: there it
 * is this file, which understands only what the examples use (`-f -s -S -N -X -H -d`,
 * `--data-binary @-`, `-D -`, `-o` and the URL). `directory` takes its start script.
 */
export function pathWithCurl(directory: string): string {
  const path = process.env["PATH"] ?? "";
  try {
    execFileSync("curl", ["--version"], { stdio: "ignore" });
    return path;
  } catch {
    const script = join(directory, "curl");
    writeFileSync(
      script,
      `#!/bin/sh\nexec '${process.execPath}' '${fileURLToPath(import.meta.url)}' "$@"\n`,
    );
    chmodSync(script, 0o755);
    return `${directory}${delimiter}${path}`;
  }
}

/** Sends the request that curl's arguments describe, and writes its body to standard output. */
async function curl(args: readonly string[]): Promise<void> {
  const headers = new Headers();
  let [url, method, headersTo, bodyTo]: (string | undefined)[] = [];
  let body: string | Uint8Array<ArrayBuffer> | undefined;
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "-H") {
      const [name = "", ...value] = (rest.shift() ?? "").split(":");
      headers.set(name, value.join(":").trim());
    } else if (arg === "-d") body = rest.shift();
    else if (arg === "--data-binary" && rest.shift() === "@-")
      body = new Uint8Array(await buffer(process.stdin));
    else if (arg === "-X") method = rest.shift();
    else if (arg === "-D") headersTo = rest.shift();
    else if (arg === "-o") bodyTo = rest.shift();
    else if (!arg.startsWith("-")) url = arg;
    else if (!/^-[fsSN]+$/.test(arg)) throw new Error(`this curl does not know ${arg}`);
  }
  const response = await fetch(url ?? "", {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers,
    ...(body === undefined ? {} : { body }),
  });
  if (!response.ok) throw new Error(`The requested URL returned error: ${response.status}`);
  if (headersTo === "-")
    for (const [name, value] of response.headers) process.stdout.write(`${name}: ${value}\n`);
  const output = bodyTo === undefined ? process.stdout : createWriteStream(bodyTo);
  for await (const chunk of response.body ?? []) output.write(chunk);
}

if (import.meta.main) await curl(process.argv.slice(2));
