import type { Lab } from "../lab.ts";

/** Runs the command line as the person who installs, through a forwarded port, and returns its output. */
export async function runYard(lab: Lab, line: string): Promise<string> {
  return await lab.shell(
    [
      "trap 'kill $(jobs -p) 2>/dev/null' EXIT",
      "kubectl -n switchyard port-forward svc/nats 4222 >/dev/null &",
      "for i in $(seq 100); do (: </dev/tcp/127.0.0.1/4222) 2>/dev/null && break; sleep 0.2; done",
      "export YARD_NATS_URL=nats://127.0.0.1:4222 YARD_NATS_NKEY_FILE=keys/cli.nk",
      `./yard ${line}`,
    ].join("\n"),
  );
}

/** The ids of the newest runs. */
export async function listed(lab: Lab): Promise<string[]> {
  const said = await runYard(lab, "runs list --json");
  return [...said.matchAll(/"runId": ?"([^"]+)"/g)].map(([, id]) => id ?? "");
}
