import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

/** The platform that browsers and Node.js share. */
const PLATFORM = ["--target", "es2022", "--lib", "es2024,dom,dom.asynciterable", "--types", ""];

/**
 * Writes `libs/client` into a folder as `npm publish` takes it: JavaScript and types, as Node.js reads no TypeScript of a package, and with the exports
 * that go with them, of which the first is the client itself. Rejects with what the compiler says.
 */
export async function clientPackage(root: string, folder: string): Promise<void> {
  const source = join(root, "libs/client");
  await mkdir(folder, { recursive: true });
  const modules = ["client", "follow", "problem-error"].map((name) =>
    join(source, `src/${name}.ts`),
  );
  const args = ["--ignoreConfig", "--declaration", "--rewriteRelativeImportExtensions", "--strict"];
  const out = [
    "--module",
    "nodenext",
    "--rootDir",
    join(source, "src"),
    "--outDir",
    resolve(folder),
  ];
  await promisify(execFile)(
    process.execPath,
    [join(root, "node_modules/typescript/bin/tsc"), ...args, ...PLATFORM, ...out, ...modules],
    { cwd: root },
  ).catch((error: Error & { stdout?: string }) => {
    throw new Error(`libs/client does not compile: ${error.stdout ?? error.message}`);
  });
  const own = JSON.parse(await readFile(join(source, "package.json"), "utf8")) as object;
  const published = {
    ...own,
    exports: { ".": "./client.js", "./*": "./*.js" },
    engines: { node: ">=20" },
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  await copyFile(join(source, "README.md"), join(folder, "README.md"));
  await copyFile(join(root, "LICENSE"), join(folder, "LICENSE"));
}
