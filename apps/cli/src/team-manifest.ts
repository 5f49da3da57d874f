import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { installedUsers } from "@switchyard/topology/topology";
import { CliError } from "./cli-error.ts";
import { seedFile } from "./nkey-seed.ts";
import { readSecret } from "./secret-files.ts";

/**
 * One manifest for Kubernetes, a List in JSON, that adds client teams: the Secret with the keys of the installation, and for each team a namespace
 * of its name, its seed there, and the way to a NATS pod of the chart. It contains every key of the directory but the seeds of teams.
 */
export async function teamManifest(
  directory: string,
  { teams, namespace }: { readonly teams: readonly string[]; readonly namespace: string },
): Promise<string> {
  const objects: object[] = [secret(namespace, "yard-keys", await installationKeys(directory))];
  for (const team of teams) {
    const seed = await readSecret(seedFile(directory, team));
    if (seed === null)
      throw new CliError("usage", `the seed of ${team} is not in ${directory}`, {
        hint: `the team has it already; for a new one remove ${team}.pub there first`,
      });
    const key = { [`${team}.nk`]: Buffer.from(`${seed}\n`).toString("base64") };
    objects.push(
      { apiVersion: "v1", kind: "Namespace", metadata: { name: team } },
      secret(team, "switchyard-nats", key),
      wayToNats(namespace, team),
    );
  }
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }, null, 2);
}

/** Base64 of each file, as the Secret `yard-keys` has them; a team's seed belongs to the team alone. */
async function installationKeys(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { withFileTypes: true });
  const users = new Set(installedUsers.map(({ name }) => `${name}.nk`));
  const names = entries
    .filter((entry) => entry.isFile() && (!entry.name.endsWith(".nk") || users.has(entry.name)))
    .map(({ name }) => name);
  const data: Record<string, string> = {};
  for (const name of names.toSorted())
    data[name] = (await readFile(join(directory, name))).toString("base64");
  return data;
}

function secret(namespace: string, name: string, data: Record<string, string>): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data };
}

/** Beside the chart's policy `nats`, which admits the services; with a NATS of your own it selects no pod. */
function wayToNats(namespace: string, team: string): object {
  const from = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": team } } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: `nats-from-${team}`, namespace },
    spec: {
      podSelector: { matchLabels: { "app.kubernetes.io/name": "nats" } },
      policyTypes: ["Ingress"],
      ingress: [{ from: [from], ports: [{ port: 4222, protocol: "TCP" }] }],
    },
  };
}
