import type { RunCommand } from "./run-command.ts";
import type { ServerKind } from "./server-kinds.ts";

export type ContainerEngine = "docker" | "podman";

const ANSWER_TIMEOUT_MS = 2_000;
const PULL_TIMEOUT_MS = 60_000;

/** An engine whose daemon answers and that has the image of `kind` or can pull it, or why there is none. */
export async function findContainerEngine(options: {
  kind: ServerKind;
  env: NodeJS.ProcessEnv;
  log: (line: string) => void;
  run: RunCommand;
}): Promise<{ engine: ContainerEngine; image: string } | { reason: string }> {
  const { kind, env, log, run } = options;
  const image = env[kind.imageVariable] || kind.image;
  const reasons: string[] = [];
  for (const engine of ["docker", "podman"] as const) {
    const info = await run(engine, ["info"], { timeoutMs: ANSWER_TIMEOUT_MS, env });
    if (info.code !== 0) {
      reasons.push(`${engine} does not answer (${firstLine(info.stderr)})`);
      continue;
    }
    const present = await run(engine, ["image", "inspect", image], {
      timeoutMs: ANSWER_TIMEOUT_MS,
      env,
    });
    if (present.code === 0) return { engine, image };
    log(`${kind.name}: pulling the image ${image} with ${engine}`);
    const pull = await run(engine, ["pull", "--quiet", image], { timeoutMs: PULL_TIMEOUT_MS, env });
    if (pull.code === 0) return { engine, image };
    reasons.push(`${engine} cannot pull ${image} (${firstLine(pull.stderr)})`);
  }
  return { reason: reasons.join("; ") };
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] || "no message";
}
