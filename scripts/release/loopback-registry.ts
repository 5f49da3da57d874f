import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@switchyard/local-servers/free-port";
import { until } from "@switchyard/local-servers/until";

const BUILD_MS = 300_000;
/** An OCI registry in memory. */
const PROGRAM = "github.com/google/go-containerregistry/cmd/registry@v0.20.6";

/** An OCI registry on loopback for a test, built into a folder; or why there is none. */
export async function startLoopbackRegistry(
  folder: string,
): Promise<{ readonly port: number; readonly stop: () => void } | { readonly skip: string }> {
  try {
    const env = { ...process.env, GOBIN: folder };
    await promisify(execFile)("go", ["install", PROGRAM], { env, timeout: BUILD_MS });
  } catch (error) {
    return { skip: `the OCI registry could not be built: ${String(error).slice(0, 300)}` };
  }
  const port = await freePort();
  const child = spawn(join(folder, "registry"), ["-port", String(port)], { stdio: "ignore" });
  await until(() =>
    fetch(`http://127.0.0.1:${port}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return { port, stop: () => child.kill("SIGKILL") };
}
