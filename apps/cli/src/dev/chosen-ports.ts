import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";

/** Ports that the servers got at their first start, so that URLs stay the same from start to start. */
const ChosenPorts = z.object({
  nats: z.int().min(1).max(65_535).nullable(),
  redis: z.int().min(1).max(65_535).nullable(),
});
export type ChosenPorts = z.infer<typeof ChosenPorts>;

export async function readChosenPorts(file: string): Promise<ChosenPorts> {
  const none = { nats: null, redis: null };
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return none;
  try {
    const parsed = ChosenPorts.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : none;
  } catch {
    return none;
  }
}

export async function writeChosenPorts(file: string, ports: ChosenPorts): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(ports)}\n`, { mode: 0o600 });
  await rename(draft, file);
}
