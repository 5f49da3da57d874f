import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { pythonProject, type PythonProject } from "./python-package.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  /** Not there where a range is all that is stated. */
  readonly version?: string;
  readonly purl: string;
  readonly type?: string;
  readonly description?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

/** CycloneDX 1.5, as `npm sbom` writes it. */
export interface BillOfMaterials {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp?: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface LockFile {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly dev?: boolean }>
  >;
}

/**
 * Lists the packages of npm in the image: `npm sbom` of the lock file, without what the lock file has for development alone; and the client of Python with what
 * it requires, of which PyPI's users get a version in the stated range. The same lock file gives the
 * same text: the serial number comes from the content in place of a random one, no time is in it, and the name of the folder is not either.
 */
export async function billOfMaterials(root: string): Promise<BillOfMaterials> {
  const args = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=application"];
  const options = { cwd: root, maxBuffer: 64 * 1024 ** 2 };
  const { stdout } = await promisify(execFile)("npm", [...args, "--package-lock-only"], options);
  const { metadata, serialNumber: _, ...all }: BillOfMaterials = JSON.parse(stdout);
  const { timestamp: _at, ...facts } = metadata;
  const bill = withPython(withoutDevelopment(all, await readLock(root)), await pythonProject(root));
  const lasting = { ...facts, component: { ...facts.component, name: "switchyard" } };
  const digest = createHash("sha256")
    .update(JSON.stringify([lasting, bill]))
    .digest("hex");
  // A UUID of version 8 has bits of its maker's choice.
  const id = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  return { ...bill, serialNumber: `urn:uuid:${id}`, metadata: lasting };
}

/** `--omit=dev` of npm 11 also leaves out what a workspace needs to run, if the root has the same package among its own for development. */
function withoutDevelopment(bill: Contents, { packages }: LockFile): Contents {
  const development = new Set<string>();
  const needed = new Set<string>();
  for (const [path, { version, dev }] of Object.entries(packages)) {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name !== undefined) (dev === true ? development : needed).add(`${name}@${version}`);
  }
  const isInImage = (ref: string): boolean => needed.has(ref) || !development.has(ref);
  return {
    ...bill,
    components: bill.components.filter((component) => isInImage(component["bom-ref"])),
    dependencies: bill.dependencies
      .filter(({ ref }) => isInImage(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isInImage) })),
  };
}

type Contents = Pick<BillOfMaterials, "bomFormat" | "specVersion" | "components" | "dependencies">;

function withPython(bill: Contents, project: PythonProject): Contents {
  const { name, version } = project;
  const purl = `pkg:pypi/${name}@${version}`;
  const required = project.dependencies.map((range): Component => {
    const own = `pkg:pypi/${/^[\w.-]+/.exec(range)?.[0]}`;
    return { "bom-ref": own, type: "library", name: own.slice(9), purl: own, description: range };
  });
  const client: Component = { "bom-ref": purl, type: "library", name, version, purl };
  const refs = required.map((component) => component["bom-ref"]);
  return {
    ...bill,
    components: [...bill.components, client, ...required],
    dependencies: [
      ...bill.dependencies,
      { ref: purl, dependsOn: refs },
      ...refs.map((ref) => ({ ref, dependsOn: [] })),
    ],
  };
}

async function readLock(root: string): Promise<LockFile> {
  return JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
}
