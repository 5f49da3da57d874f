/** True when an `Accept-Encoding` allows gzip (RFC 9110, 12.5.3). */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const weights = new Map(
    (acceptEncoding ?? "").split(",").map((one): [string, number] => {
      const [name = "", ...parameters] = one.split(";").map((part) => part.trim().toLowerCase());
      const q = parameters.find((part) => part.startsWith("q="));
      return [name, q === undefined ? 1 : Number(q.slice(2))];
    }),
  );
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0;
}
