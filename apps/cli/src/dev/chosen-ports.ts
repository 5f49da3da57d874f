import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFree } from "@switchyard/local-servers/free-port";
import { z } from "zod";
import { CliError } from "../cli-error.ts";
import { isPortTaken, SERVER_TITLE, type LocalServer, type ServerName } from "./local-server.ts";
import { notRecorded, type StackReport } from "./stack-report.ts";

/** Ports that the servers got at their first start, so that URLs stay the same from start to start. */
const ChosenPorts = z.object({
  nats: z.int().min(1).max(65_535).nullable(),
  redis: z.int().min(1).max(65_535).nullable(),
  /** The port of the gateway. */
  http: z.int().min(1).max(65_535).nullable().default(null),
});
export type ChosenPorts = z.infer<typeof ChosenPorts>;

export async function readChosenPorts(file: string): Promise<ChosenPorts> {
  const none = { nats: null, redis: null, http: null };
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return none;
  try {
    const parsed = ChosenPorts.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : none;
  } catch {
    return none;
  }
}

export async function writeChosenPorts(file: string, ports: ChosenPorts): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(ports)}\n`, { mode: 0o600 });
  await rename(draft, file);
}

/** Starts NATS or Redis on the requested port; else on the port of the last time, or on any free one when that is taken. */
export async function launchOnChosenPort(
  name: ServerName,
  launchOn: (port: number) => Promise<LocalServer>,
  {
    wanted,
    portsFile,
    report,
  }: { readonly wanted: number | null; readonly portsFile: string; readonly report: StackReport },
): Promise<LocalServer> {
  const chosen = await readChosenPorts(portsFile);
  const port = wanted ?? chosen[name] ?? 0;
  const server = await launchOn(port).catch((error: unknown) => {
    if (!isPortTaken(error)) throw error;
    if (wanted !== null) {
      throw new CliError("start_failed", `port ${wanted} for ${SERVER_TITLE[name]} is taken`, {
        hint: "choose another port, or leave it out",
        cause: error,
      });
    }
    report.step(`${SERVER_TITLE[name]}'s port ${port} is taken now; choosing another`);
    return launchOn(0);
  });
  if (wanted === null)
    await writeChosenPorts(portsFile, { ...chosen, [name]: server.port }).catch((error: unknown) =>
      notRecorded(report, `${name}'s port`, error),
    );
  return server;
}

/** The first address of a project's console; other projects have the next ones. */
const HTTP_PORTS = Array.from({ length: 20 }, (_, index) => 4_224 + index);

/** The gateway's port of the last time while it is free, else the first free one from 4224; null where all of these are taken. `claims` is the directory of claims. */
export async function chooseHttpPort(
  portsFile: string,
  { claims = tmpdir(), ports = HTTP_PORTS }: { claims?: string; ports?: readonly number[] } = {},
): Promise<number | null> {
  const { http } = await readChosenPorts(portsFile);
  const own = http === null ? [] : [http];
  for (const port of [...own, ...ports])
    if ((await isFree(port)) && (await isClaimed(join(claims, `switchyard-port-${port}`))))
      return port;
  return null;
}

/** Claims a port for this process: the gateway listens seconds later, and another project may start meanwhile. */
async function isClaimed(file: string): Promise<boolean> {
  const claim = (): Promise<boolean> =>
    writeFile(file, String(process.pid), { flag: "wx" }).then(
      () => true,
      () => false,
    );
  if (await claim()) return true;
  const owner = Number(await readFile(file, "utf8").catch(() => ""));
  if (owner === process.pid) return true;
  if (owner > 0 && hasProcess(owner)) return false;
  await rm(file, { force: true }).catch(() => {}); // of another person: the next port is as good
  return claim();
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

export async function rememberHttpPort(portsFile: string, port: number): Promise<void> {
  const chosen = await readChosenPorts(portsFile);
  if (chosen.http !== port) await writeChosenPorts(portsFile, { ...chosen, http: port });
}
