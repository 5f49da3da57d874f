import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { decisionIndex } from "./generate/decision-index.ts";
import { openApi } from "@switchyard/gateway/openapi/openapi";
import { format } from "./generate/format.ts";
import { asyncApi } from "./generate/asyncapi.ts";
import { clientOperations } from "./generate/client-operations.ts";
import { contractRoutes } from "./generate/contract-routes.ts";
import { commandReference } from "./generate/command-reference.ts";
import { kustomizeFile } from "./generate/kustomize-files.ts";
import { pythonClient } from "./generate/python-client.ts";
import { nackStreams } from "./generate/nack-streams.ts";
import { natsAuthorizationFile } from "./generate/nats-authorization.ts";
import { redisUsersFile } from "./generate/redis-users.ts";
import { removedSettingsFile } from "./generate/removed-settings.ts";
import { replaceSection } from "./generate/section.ts";
import { settingsTables } from "./generate/settings-document.ts";
import { subjectsDocument } from "./generate/subjects-document.ts";
import { valuesTable } from "./generate/values-table.ts";

/**
 * Writes every file that is derived from the contracts, the settings, the commands, the chart or the decisions, or with `--check` lists which of them differ
 * from what would be written and exits 1.
 */
const root = new URL("../", import.meta.url);
const check = process.argv.includes("--check");

const generated: Record<string, (current: string) => string | Promise<string>> = {
  "docs/asyncapi.json": () => format("asyncapi.json", JSON.stringify(asyncApi())),
  "docs/openapi.json": () => format("openapi.json", JSON.stringify(openApi())),
  "libs/client/src/operations.ts": () => format("operations.ts", clientOperations()),
  "libs/client/src/contract-routes.ts": () => format("contract-routes.ts", contractRoutes()),
  "clients/python/src/switchyard_client/models.py": () => pythonClient().models,
  "clients/python/src/switchyard_client/_operations.py": () => pythonClient().operations,
  "clients/python/src/switchyard_client/_async_operations.py": () => pythonClient().asyncOperations,
  "deploy/nats/authorization.conf": () => natsAuthorizationFile(),
  "deploy/nats/nack-streams.yaml": () => format("nack-streams.yaml", nackStreams()),
  "deploy/redis/users.acl": () => redisUsersFile(),
  "deploy/helm/switchyard/files/removed-settings.yaml": () =>
    format("removed-settings.yaml", removedSettingsFile()),
  "deploy/k8s/base/switchyard.yaml": (current) => kustomizeFile("base", current),
  "deploy/k8s/components/keda/scaled-object.yaml": (current) => kustomizeFile("keda", current),
  "deploy/k8s/components/hpa/horizontal-pod-autoscaler.yaml": (current) =>
    kustomizeFile("hpa", current),
  "deploy/k8s/overlays/dev/single-nodes.yaml": (current) => kustomizeFile("single-nodes", current),
  "docs/reference/kubernetes-values.md": (current) =>
    format("kubernetes-values.md", replaceSection(current, { values: valuesTable() })),
  "docs/reference/settings.md": (current) =>
    format("settings.md", replaceSection(current, { settings: settingsTables() })),
  "docs/reference/cli.md": () => format("cli.md", commandReference()),
  "docs/reference/subjects.md": () => subjectsDocument(),
  "decisions/README.md": () => format("README.md", decisionIndex()),
};

const stale: string[] = [];
for (const [path, make] of Object.entries(generated)) {
  const url = new URL(path, root);
  const current = await readFile(url, "utf8").catch(() => "");
  const wanted = await make(current);
  if (wanted === current) continue;
  stale.push(path);
  if (!check) await writeFile(url, wanted);
}

if (check && stale.length > 0) {
  console.error(`out of date: ${stale.join(", ")}\nrun "npm run generate" and commit the result`);
  process.exitCode = 1;
} else {
  const verb = check ? "up to date" : "written";
  console.log(`${Object.keys(generated).length} generated files ${verb} in ${fileURLToPath(root)}`);
}
