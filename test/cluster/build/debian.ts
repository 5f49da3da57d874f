import { access, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram, tryProgram } from "../run-program.ts";

/** Debian's packages of everything that is not built from Go modules; promtool is part of prometheus. */
const nodePackages = [
  "etcd-server",
  "containerd",
  "runc",
  "containernetworking-plugins",
  "docker.io",
  "docker-cli",
  "docker-buildx",
  "docker-compose",
  "iptables",
  "ipset",
  "conntrack",
  "iproute2",
  "kmod",
  "mount",
  "ca-certificates",
  "nats-server",
  "prometheus",
];

/** Unpacks the two Debian roots that the cache folder lacks, or has with other packages: `sid` for the nodes and Docker, `bookworm` as the base of images. */
export async function unpackDebian(cache: string, log: (line: string) => void): Promise<void> {
  const roots = [
    { suite: "sid", packages: nodePackages },
    { suite: "bookworm", packages: ["ca-certificates"] },
  ];
  for (const { suite, packages } of roots) {
    const target = join(cache, suite);
    const list = `${target}.packages`;
    const wanted = packages.join("\n");
    if ((await readFile(list, "utf8").catch(() => "")) === wanted) continue;
    await rm(target, { recursive: true, force: true });
    const began = performance.now();
    const draft = `${target}.draft`;
    await rm(draft, { recursive: true, force: true });
    const { program, env } = await debootstrap(cache);
    const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    const options = [
      "--variant=minbase",
      `--keyring=${keyring}`,
      `--include=${packages.join(",")}`,
    ];
    const low = ["nice", "-n", "19", "ionice", "-c3"];
    const source = "http://deb.debian.org/debian";
    await runProgram([...low, program, ...options, suite, draft, source], {
      env,
      timeoutMs: 1_200_000,
    });
    await rename(draft, target);
    await writeFile(list, wanted);
    log(`Debian ${suite} is unpacked, in ${Math.round((performance.now() - began) / 1_000)} s`);
  }
}

/** The installed debootstrap, else the package unpacked in the cache folder; it is a shell script. */
async function debootstrap(
  cache: string,
): Promise<{ program: string; env: Record<string, string> }> {
  const { code } = await tryProgram(["which", "debootstrap"]);
  if (code === 0) return { program: "debootstrap", env: {} };
  const folder = join(cache, "debootstrap");
  const program = join(folder, "usr/sbin/debootstrap");
  if (!(await isThere(program))) {
    await mkdir(folder, { recursive: true });
    await runProgram(["apt-get", "download", "debootstrap"], { cwd: folder });
    const archive = (await readdir(folder)).find((name) => name.endsWith(".deb")) ?? "";
    await runProgram(["dpkg", "-x", archive, "."], { cwd: folder });
  }
  return { program, env: { DEBOOTSTRAP_DIR: join(folder, "usr/share/debootstrap") } };
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
