import { firstLine, type RunCommand } from "./run-command.ts";
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
  const { image } = kind;
  const reasons: string[] = [];
  for (const engine of ["docker", "podman"] as const) {
    const info = await run(engine, ["info"], { timeoutMs: ANSWER_TIMEOUT_MS, env });
    if (info.code !== 0) {
      reasons.push(`${engine} does not answer (${firstLine(info.stderr)})`);
      continue;
    }
    const elsewhere = engine === "docker" ? await remoteDaemon(env, run) : null;
    if (elsewhere !== null) {
      reasons.push(
        `docker's daemon is on another machine (${elsewhere}), where this one's files and loopback are not`,
      );
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

/** The address of `DOCKER_HOST` or the chosen context, when that is another machine. */
async function remoteDaemon(env: NodeJS.ProcessEnv, run: RunCommand): Promise<string | null> {
  const args = ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];
  const { code, stdout } = await run("docker", args, { timeoutMs: ANSWER_TIMEOUT_MS, env });
  const host = code === 0 ? URL.parse(stdout.trim()) : null; // what only resembles docker may lack contexts
  if (host === null || !["ssh:", "tcp:", "http:", "https:"].includes(host.protocol)) return null;
  return /^(localhost|127\..*|\[::1\])$/.test(host.hostname)
    ? null
    : `${host.protocol}//${host.host}`;
}
