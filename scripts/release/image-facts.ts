import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** An image of this machine, or why it cannot be inspected. */
export type ImageFacts =
  | {
      readonly image: string;
      readonly id: string;
      readonly bytes: number;
      readonly architecture: string;
    }
  | { readonly image: string; readonly unknown: string };

const LIMIT_MS = 10_000;

/** Asks the container engine that `docker` reaches. */
export function imageFacts(images: readonly string[]): Promise<ImageFacts[]> {
  return Promise.all(images.map(factsOf));
}

async function factsOf(image: string): Promise<ImageFacts> {
  const format = '{"id":{{json .Id}},"bytes":{{json .Size}},"architecture":{{json .Architecture}}}';
  try {
    const args = ["image", "inspect", "--format", format, "--", image];
    const { stdout } = await promisify(execFile)("docker", args, { timeout: LIMIT_MS });
    return { image, ...JSON.parse(stdout) };
  } catch (error) {
    return { image, unknown: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "ENOENT") return "there is no docker on this machine";
  if ("killed" in error && error.killed === true) return "no container engine answers";
  const said = "stderr" in error ? String(error.stderr).trim() : "";
  return said.split("\n").at(-1) || error.message;
}
