import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check, Outcome, World } from "./check.ts";

/** Runs the checks one after the other; each has ten minutes, or its own, and a failed one leaves what the cluster looked like in a file. */
export async function runChecks(
  checks: readonly Check[],
  {
    world,
    evidence,
    signal,
    log,
  }: {
    world: World;
    /** The folder for the state of the cluster at each failure. */
    evidence: string;
    signal: AbortSignal;
    log: (line: string) => void;
  },
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const check of checks) {
    const reason = signal.aborted ? "the time for all checks is over" : check.skip?.(world);
    if (reason !== null && reason !== undefined) {
      outcomes.push({ check, state: "skipped", seconds: 0, text: reason });
      log(line("–", check, reason));
      continue;
    }
    const began = performance.now();
    const spent = (): number => Math.round((performance.now() - began) / 1_000);
    try {
      const text = await within(check.minutes ?? 10, signal, check.run(world));
      outcomes.push({ check, state: "passed", seconds: spent(), text });
      log(line("✔", check, `${text} (${spent()} s)`));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      outcomes.push({ check, state: "failed", seconds: spent(), text });
      log(line("✘", check, `${text} (${spent()} s)`));
      await leaveEvidence(world, join(evidence, `${check.name}.txt`)).catch(() => {});
      if (check.isInstallation === true) break; // nothing after it can be true
    }
  }
  return outcomes;
}

function line(mark: string, { name, title }: Check, text: string): string {
  return `${mark} ${name}: ${title}\n    ${text.replaceAll("\n", "\n    ")}`;
}

async function within<T>(minutes: number, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const over = Promise.withResolvers<never>();
  const end = (): void => over.reject(new Error("the time for all checks is over"));
  signal.addEventListener("abort", end, { once: true });
  const timer = setTimeout(
    () => over.reject(new Error(`not done within ${minutes} minutes`)),
    minutes * 60_000,
  );
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

async function leaveEvidence({ kubectl, lab }: World, file: string): Promise<void> {
  const parts: string[] = [];
  const views = [
    ["get", "pods,pvc,jobs", "-o", "wide"],
    ["get", "events", "--sort-by=.lastTimestamp"],
    ["describe", "pods"],
    ["logs", "--selector=app.kubernetes.io/part-of=switchyard", "--tail=60", "--prefix"],
  ];
  for (const view of views) parts.push(view.join(" "), (await kubectl.try(view)).stdout);
  parts.push((await lab.kubectl.try(["get", "nodes,pv", "-o", "wide"])).stdout);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, parts.join("\n\n"));
}
