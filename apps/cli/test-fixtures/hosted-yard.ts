import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { YardResult } from "./yard-result.ts";

export interface HostedCommand {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** The mark that a host writes on both streams after the output of a command; no command writes it. */
export const END = "\0end of command\0";

/** Hosts without a command at the moment. A command that runs beside another has a host of its own. */
const idle: ChildProcess[] = [];

/** Runs a command in a process that has the command line loaded, and kills that when it takes longer than `limitMs`. */
export async function runHosted(command: HostedCommand, limitMs: number): Promise<YardResult> {
  const host = idle.pop() ?? startHost(command.env);
  setReferenced(host, true);
  const late = setTimeout(() => host.kill("SIGKILL"), limitMs);
  // The host ends with a command that ends its process itself, as one that is out of time.
  const ended = Promise.withResolvers<number | null>();
  const onClose = (code: number | null): void => ended.resolve(code);
  host.once("close", onClose);
  const output = Promise.all(
    [host.stdout, host.stderr].map((stream) => untilEnd(stream as Socket)),
  ); // piped
  const done = Promise.all([once(host, "message"), output]).then(([[code]]) => Number(code));
  host.send(command);
  try {
    const code = await Promise.race([done, ended.promise]);
    const [stdout = "", stderr = ""] = await output;
    return { code, stdout, stderr };
  } finally {
    clearTimeout(late);
    host.off("close", onClose);
    if (host.connected) {
      setReferenced(host, false);
      idle.push(host);
    }
  }
}

function startHost(env: NodeJS.ProcessEnv): ChildProcess {
  return fork(join(import.meta.dirname, "yard-host.ts"), {
    env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
}

/** An idle host does not keep the process of the tests alive, and ends with it: its channel closes. */
function setReferenced(host: ChildProcess, isReferenced: boolean): void {
  const parts = [host, host.channel, host.stdout as Socket, host.stderr as Socket]; // piped
  for (const part of parts) part?.[isReferenced ? "ref" : "unref"]();
}

/** The text up to the end of the command, or of the stream. */
async function untilEnd(stream: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk);
    if (chunk.includes(0) && Buffer.concat(chunks).includes(END)) resolve();
  };
  const onClose = (): void => resolve();
  stream.on("data", onData).once("close", onClose);
  await promise;
  stream.off("data", onData).off("close", onClose);
  return Buffer.concat(chunks).toString("utf8").replace(END, "");
}
