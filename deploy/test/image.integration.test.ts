// What is in the images, looked at from inside. It takes minutes and an engine, so it runs when it is asked for:
//
//   YARD_TEST_DOCKER=1 npm run test:integration -- deploy/test/image
//
// Without a registry, name an image in NODE_IMAGE, or a built one in SWITCHYARD_IMAGE; SWITCHYARD_MCP_IMAGE likewise for the target `mcp`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { docker, succeeded, whyNoComposition } from "./composition.ts";

const skip = whyNoComposition();

/** Builds a target of the Dockerfile, unless `variable` names an image of it. */
function imageOf(target: string, variable: string): string {
  const named = process.env[variable];
  if (named !== undefined) return named;
  const node = process.env["NODE_IMAGE"];
  const base = node === undefined ? [] : ["--build-arg", `NODE_IMAGE=${node}`];
  const tag = `yard-test-image-${process.pid}:${target}`;
  const file = ["--file", "deploy/docker/Dockerfile", "--target", target, ...base];
  succeeded(docker(["build", ...file, "--tag", tag, "."]));
  return tag;
}

/** Runs a shell in the image as a cluster would: nothing can be written, no capability, no network. */
function inside(image: string, script: string): string {
  const closed = ["--read-only", "--cap-drop", "ALL", "--network", "none"];
  return succeeded(
    docker(["run", "--rm", ...closed, "--entrypoint", "sh", image, "-c", script]),
  ).trim();
}

test(
  "all services are one image, without a name for its user, without tests and tools of development",
  { skip },
  (t) => {
    const image = imageOf("services", "SWITCHYARD_IMAGE");
    assert.equal(inside(image, "id -u; id -g"), "10001\n10001");
    assert.equal(inside(image, "touch /app/x 2>&1 || true").includes("Read-only"), true);
    const tests =
      "find /app -not -path '*/node_modules/*' \\( -name '*.test.ts' -o -name 'test-*' -o -path '*/test/*' \\)";
    assert.equal(inside(image, tests), "");
    const tools =
      "for name in gcc cc make tsc oxlint knip git python3; do command -v $name; done; true";
    assert.equal(inside(image, tools), "");
    assert.equal(
      inside(
        image,
        "ls /app/node_modules | grep -cE '^(typescript|vite|oxlint|knip|playwright-core)$' || true",
      ),
      "0",
    );
    for (const service of [
      "policy",
      "mcp-broker",
      "skill-importer",
      "agent-runner",
      "toolbox",
      "channels",
      "scheduler",
      "gateway",
    ])
      inside(image, `test -f services/${service}/src/main.ts`);
    assert.match(inside(image, "node apps/cli/src/main.ts --help"), /yard/);
    const bytes = succeeded(docker(["image", "inspect", "--format", "{{.Size}}", image])).trim();
    t.diagnostic(`${image}: ${(Number(bytes) / 1e6).toFixed(0)} MB`);
  },
);

test(
  "the image for MCP servers adds Python, uv and Git to the same layers, and is nobody either",
  { skip },
  (t) => {
    const services = imageOf("services", "SWITCHYARD_IMAGE");
    const image = imageOf("mcp", "SWITCHYARD_MCP_IMAGE");
    const layers = (name: string): string[] =>
      JSON.parse(
        succeeded(docker(["image", "inspect", "--format", "{{json .RootFS.Layers}}", name])),
      );
    const below = layers(services);
    assert.deepEqual(layers(image).slice(0, below.length), below);
    assert.equal(inside(image, "id -u"), "10001");
    const versions = inside(
      image,
      "node --version && npx --version && python3 --version && uv --version && uvx --version && git --version",
    );
    assert.equal(versions.split("\n").length, 6);
    const bytes = succeeded(docker(["image", "inspect", "--format", "{{.Size}}", image])).trim();
    t.diagnostic(
      `${image}: ${(Number(bytes) / 1e6).toFixed(0)} MB; ${versions.replaceAll("\n", ", ")}`,
    );
  },
);
