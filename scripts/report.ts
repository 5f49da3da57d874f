import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startYardDev } from "../test/lib/yard-dev.ts";
import { billOfMaterials } from "./release/bill-of-materials.ts";
import { imageFacts } from "./release/image-facts.ts";
import { productionTree } from "./release/production-tree.ts";

/**
 * Prints as JSON how large an installation is and how soon it starts: the packages and files of the image, the parts of its bill of materials, the
 * size of the images where a container engine answers and has them, and how long each service took to be ready, of several starts with NATS and Redis.
 *
 *   node scripts/report.ts [--image switchyard:dev] … [--starts 3]
 */
const USAGE = "usage: node scripts/report.ts [--image switchyard:dev] … [--starts 3]";
const root = fileURLToPath(new URL("..", import.meta.url));

try {
  const { values } = parseArgs({
    options: {
      image: { type: "string", multiple: true, default: ["switchyard:dev", "switchyard:dev-mcp"] },
      starts: { type: "string", default: "3" },
    },
  });
  const starts = Number(values.starts);
  if (!Number.isInteger(starts) || starts < 0 || starts > 100)
    throw new Error("--starts is a number from 0 to 100");
  const bill = await billOfMaterials(root);
  const report = {
    node: process.versions.node,
    tree: await productionTree(root),
    billOfMaterials: {
      format: `${bill.bomFormat} ${bill.specVersion}`,
      components: bill.components.length,
      serialNumber: bill.serialNumber,
    },
    images: await imageFacts(values.image),
    starts: await measureStarts(starts),
  };
  console.log(JSON.stringify(report, null, 2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = 1;
}

interface Starts {
  readonly number: number;
  /** From the start of the process to readiness, in milliseconds: medians by service. */
  readonly readyMs: Readonly<Record<string, number>>;
}

/** Starts everything as `yard dev` does, which takes NATS and Redis from this machine. */
async function measureStarts(number: number): Promise<Starts> {
  const taken = new Map<string, number[]>();
  for (let turn = 0; turn < number; turn += 1) {
    const stateDir = await mkdtemp(join(tmpdir(), "yard-report-"));
    try {
      const dev = await startYardDev({ project: "examples", stateDir, apart: false });
      await dev.stop();
      for (const { msg, service, startMs } of dev.log)
        if (msg === "service ready" && typeof startMs === "number")
          taken.set(String(service), [...(taken.get(String(service)) ?? []), startMs]);
    } finally {
      await rm(stateDir, { recursive: true, force: true });
    }
  }
  const medians = [...taken].map(([service, all]) => [service, median(all)]);
  return { number, readyMs: Object.fromEntries(medians) };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
