import type { Lab } from "../lab.ts";

/** The ids of the newest runs, as the command line lists them through a forwarded port. */
export async function listed(lab: Lab): Promise<string[]> {
  const said = await lab.shell(
    [
      "trap 'kill $(jobs -p) 2>/dev/null' EXIT",
      "kubectl -n switchyard port-forward svc/nats 4222 >/dev/null &",
      "for i in $(seq 100); do (: </dev/tcp/127.0.0.1/4222) 2>/dev/null && break; sleep 0.2; done",
      "export YARD_NATS_URL=nats://127.0.0.1:4222 YARD_NATS_NKEY_FILE=keys/cli.nk",
      "./yard runs list --json",
    ].join("\n"),
  );
  return [...said.matchAll(/"runId": ?"([^"]+)"/g)].map(([, id]) => id ?? "");
}
