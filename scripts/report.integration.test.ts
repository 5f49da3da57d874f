import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "report-test-"));
after(() => rm(folder, { recursive: true }));
// A stand-in: it knows one image, as an engine would say it.
await writeFile(
  join(folder, "docker"),
  `#!/bin/sh
for last; do :; done
if [ "$last" = known:1 ]; then echo '{"id":"sha256:ab","bytes":12345,"architecture":"amd64"}'; exit 0; fi
echo "Error response from daemon: No such image: $last" >&2; exit 1
`,
);
await chmod(join(folder, "docker"), 0o755);

async function report(args: readonly string[], path = process.env["PATH"]): Promise<Report> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(root, "scripts/report.ts"), ...args],
    { env: { ...process.env, PATH: path }, cwd: folder },
  );
  return JSON.parse(stdout);
}

interface Report {
  readonly tree: Readonly<
    Record<"dependencies" | "own", { packages?: number; files: number; bytes: number }>
  >;
  readonly billOfMaterials: { readonly components: number; readonly format: string };
  readonly images: readonly Readonly<Record<string, unknown>>[];
  readonly starts: { readonly number: number; readonly readyMs: Readonly<Record<string, number>> };
}

test("the report has the size of the tree, the bill of materials, images and times of start", async () => {
  const withDocker = `${folder}${delimiter}${process.env["PATH"]}`;
  const images = ["--image", "known:1", "--image", "other:1"];
  const {
    tree,
    billOfMaterials,
    images: found,
    starts,
  } = await report([...images, "--starts", "1"], withDocker);
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const most = Object.keys(packages).length;
  const installed = tree.dependencies.packages ?? 0;
  assert.ok(installed > 80 && installed < most, `${installed} of ${most} packages`);
  assert.ok(tree.dependencies.bytes > 10_000_000 && tree.dependencies.files > installed);
  assert.ok(tree.own.files > 500 && tree.own.bytes > 1_000_000, JSON.stringify(tree.own));
  assert.equal(billOfMaterials.format, "CycloneDX 1.5");
  assert.ok(billOfMaterials.components >= 80);
  assert.deepEqual(found, [
    { image: "known:1", id: "sha256:ab", bytes: 12345, architecture: "amd64" },
    { image: "other:1", unknown: "Error response from daemon: No such image: other:1" },
  ]);
  assert.equal(starts.number, 1);
  for (const service of ["policy", "mcp-broker", "agent-runner", "gateway"])
    assert.ok((starts.readyMs[service] ?? 0) > 0, `${service}: ${JSON.stringify(starts)}`);
});

test("without a container engine the images are unknown, and the rest is reported", async () => {
  await writeFile(join(folder, "docker"), "#!/bin/sh\necho 'no engine here' >&2; exit 1\n");
  const withDocker = `${folder}${delimiter}${process.env["PATH"]}`;
  const { images, starts } = await report(["--starts", "0", "--image", "known:1"], withDocker);
  assert.deepEqual(images, [{ image: "known:1", unknown: "no engine here" }]);
  assert.deepEqual(starts, { number: 0, readyMs: {} });
});

test("what it cannot read it refuses, with its usage", async () => {
  for (const args of [["--starts", "many"], ["--size"]])
    await assert.rejects(report(args), { stderr: /usage: node scripts\/report\.ts/ });
});
