/** The values of a service's metrics that have no labels of their own. */
export async function readMetrics(healthUrl: string): Promise<Record<string, number>> {
  const text = await (await fetch(new URL("/metrics", healthUrl))).text();
  return Object.fromEntries(
    [...text.matchAll(/^([a-z_]+)(?:\{[^}]*\})? (\S+)$/gm)].map(([, name, value]) => [
      name ?? "",
      Number(value),
    ]),
  );
}
