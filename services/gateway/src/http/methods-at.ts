/**
 * Returns the methods of the operations at a path, for `Allow`; empty for a path without one. Handlers of all methods are steps
 * before an operation and do not count.
 */
export function methodsAt(
  operations: readonly { readonly method: string; readonly path: string }[],
  path: string,
): string[] {
  const segments = path.split("/");
  const found = operations.filter(
    (operation) => operation.method !== "ALL" && isAt(operation.path.split("/"), segments),
  );
  const methods = found.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...new Set(methods)].toSorted();
}

function isAt(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every((part, index) => part === segments[index] || part.startsWith(":"))
  );
}
