import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { eventually, StoppedError } from "../eventually.ts";
import type { Kubectl } from "../kubectl.ts";

/** The namespace of the team whose pods start runs. */
export const team = "team-a";

export interface LoadPlan {
  /** A DNS label; the runs' ids begin with it. */
  readonly name: string;
  readonly runs: number;
  /** The duration of each of a run's three steps of calls. */
  readonly takesMs: number;
  readonly perSecond: number;
  /** After this time the runs that have not ended are lost. */
  readonly seconds?: number;
  /** Where NATS is, unless it is the chart's. */
  readonly nats?: string;
}

/** The counts of drive.ts. */
export interface LoadResult {
  readonly runs: number;
  readonly ends: Readonly<Record<string, number>>;
  readonly lost: readonly string[];
  readonly endedTwice: readonly string[];
  /** Executed calls, each counted once. */
  readonly calls: number;
  /** Calls that the runs record as failed or of unknown outcome. */
  readonly failedCalls: number;
  /** The number of calls that failed for each reason. */
  readonly reasons?: Readonly<Record<string, number>>;
  readonly doubled: readonly string[];
}

export interface RunningLoad {
  /** Resolves when NATS has acknowledged all commands. */
  published(): Promise<void>;
  result(): Promise<LoadResult>;
}

/** Runs started by a pod of team-a, whose calls are counted by a server of their own. */
export class Load {
  readonly #kubectl: Kubectl;

  constructor(kubectl: Kubectl) {
    this.#kubectl = kubectl;
  }

  /** Installs the server that counts, and the scripts. The namespace team-a has to be there. */
  async install(): Promise<void> {
    const read = (path: string): Promise<string> =>
      readFile(fileURLToPath(new URL(path, import.meta.url)), "utf8");
    await this.#kubectl.apply(await read("../manifests/load.yaml"));
    const data = { "marks.ts": await read("marks.ts"), "drive.ts": await read("drive.ts") };
    for (const namespace of ["marks", team])
      await this.#kubectl.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "scripts", namespace },
        data,
      });
    await this.#kubectl
      .in("marks")
      .run(["rollout", "status", "deployment/marks", "--timeout=180s"]);
  }

  async start(plan: LoadPlan): Promise<RunningLoad> {
    const kubectl = this.#kubectl.in(team);
    const job = `job/load-${plan.name}`;
    const seconds = plan.seconds ?? 240;
    await kubectl.run(["delete", job, "--ignore-not-found"]);
    await kubectl.apply(jobOf(plan, seconds));
    const lines = async (): Promise<unknown[]> => {
      const text = await kubectl.run(["logs", job]);
      const failed = await kubectl.run(["get", job, "-o", "jsonpath={.status.failed}"]);
      if (failed === "1") throw new StoppedError(`${job} failed:\n${text}`);
      return text
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line): unknown => JSON.parse(line));
    };
    return {
      published: async () => {
        const what = `the commands of ${plan.name} are published`;
        await eventually(what, async () => (await lines()).length > 0, { timeoutMs: 180_000 });
      },
      result: async () => {
        const timeoutMs = (seconds + 90) * 1_000;
        const [, result] = await eventually(
          `the runs of ${plan.name} have ended`,
          async () => {
            const reported = await lines();
            return reported.length >= 2 ? reported : null;
          },
          { timeoutMs },
        );
        return result as LoadResult; // the second line of drive.ts
      },
    };
  }
}

/**
 * Throws when a run was lost, ended twice or did not succeed, or a call was executed twice or not at all. With `mayFail` a call may be missing
 * when its run has recorded that it failed. Returns the counts.
 */
export function checkLoad(
  { runs, ends, lost, endedTwice, calls, failedCalls, reasons = {}, doubled }: LoadResult,
  { mayFail = false }: { mayFail?: boolean } = {},
): string {
  const missing = runs * 4 - calls;
  const faults = [
    lost.length > 0 ? `lost: ${lost.join(", ")}` : "",
    endedTwice.length > 0 ? `ended twice: ${endedTwice.join(", ")}` : "",
    doubled.length > 0 ? `calls executed more than once: ${doubled.join(", ")}` : "",
    ends["run.finished"] === runs ? "" : `ends: ${JSON.stringify(ends)}`,
    missing === 0 || (mayFail && missing <= failedCalls)
      ? ""
      : `${calls} calls in place of ${runs * 4}, and ${failedCalls} reported as failed: ${JSON.stringify(reasons)}`,
  ].filter((fault) => fault !== "");
  if (faults.length > 0) throw new Error(faults.join("; "));
  const failed = missing === 0 ? "" : `, ${missing} reported as failed`;
  return `${runs} runs finished, each once; ${calls} calls, none twice${failed}`;
}

function jobOf(
  { name, runs, takesMs, perSecond, nats = "nats://nats.switchyard:4222" }: LoadPlan,
  seconds: number,
): object {
  const variables = {
    YARD_USER: team,
    YARD_NATS_URL: nats,
    YARD_NATS_NKEY_FILE: `/keys/${team}.nk`,
    LOAD_PREFIX: name,
    LOAD_RUNS: runs,
    LOAD_TAKES_MS: takesMs,
    LOAD_PER_SECOND: perSecond,
    LOAD_SECONDS: seconds,
    LOAD_MARKS: "http://marks.marks:8080/marks",
  };
  const env = Object.entries(variables).map(([key, value]) => ({ name: key, value: `${value}` }));
  const container = {
    name: "drive",
    image: "switchyard:dev",
    imagePullPolicy: "Never",
    args: ["/app/cluster/drive.ts"],
    env,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    volumeMounts: [
      { name: "keys", mountPath: "/keys" },
      { name: "scripts", mountPath: "/app/cluster" },
    ],
  };
  const security = { runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001 };
  const spec = {
    restartPolicy: "Never",
    nodeSelector: { "kubernetes.io/hostname": "node1" },
    automountServiceAccountToken: false,
    securityContext: { ...security, seccompProfile: { type: "RuntimeDefault" } },
    containers: [container],
    volumes: [
      { name: "keys", secret: { secretName: "switchyard-nats", defaultMode: 0o440 } },
      { name: "scripts", configMap: { name: "scripts" } },
    ],
  };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: `load-${name}` },
    spec: { backoffLimit: 0, activeDeadlineSeconds: seconds + 120, template: { spec } },
  };
}
