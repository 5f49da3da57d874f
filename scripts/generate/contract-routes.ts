import { SERVICE_FIELDS, VERSION_FIELD } from "@switchyard/gateway/routes/route-shape";
import { routes } from "@switchyard/gateway/routes/route-table";

/** `libs/client/src/contract-routes.ts`: where each contract is over HTTP. */
export function contractRoutes(): string {
  const byContract = new Map<string, string[]>();
  for (const { contract, method, path, body, isAlias = false, ...more } of routes) {
    // The paths of the seeds' front ends are other names of the same operations.
    if (isAlias || path.startsWith("/openclaw/")) continue;
    const { names = {}, codes = {} } = more;
    const renamed = Object.entries(codes).map(([code, [, httpCode]]) => [httpCode, code]);
    const route = {
      method: method.toUpperCase(),
      path,
      ...(body !== undefined && { body }),
      ...(Object.keys(names).length > 0 && { names }),
      ...(renamed.length > 0 && { codes: Object.fromEntries(renamed.toReversed()) }),
    };
    const known = byContract.get(contract.name) ?? [];
    byContract.set(contract.name, [...known, JSON.stringify(route)]);
  }
  return [
    "/** Written by scripts/generate.ts from the gateway's route table. */",
    `export interface ContractRoute {
      readonly method: string;
      /** Below \`/api/v1\`. */
      readonly path: string;
      /** The field of the request that is the whole body. */
      readonly body?: string;
      /** Names in the path that are other ones in the request. */
      readonly names?: Readonly<Record<string, string>>;
      /** The contract's codes of errors that have another one over HTTP, by that one. */
      readonly codes?: Readonly<Record<string, string>>;
    }`,
    "/** The routes by the name of the contract; a caller takes the first whose path it can fill in. */",
    [
      "export const CONTRACT_ROUTES: Readonly<Record<string, readonly ContractRoute[]>> = {",
      ...[...byContract].map(([name, found]) => `${JSON.stringify(name)}: [${found.join(", ")}],`),
      "};",
    ].join("\n"),
    "/** Fields of requests that only services set, and that are not taken over HTTP. */",
    `export const SERVICE_FIELDS: readonly string[] = ${JSON.stringify([...SERVICE_FIELDS])};`,
    "/** The field of a request whose value is sent as `If-Match`. */",
    `export const VERSION_FIELD = ${JSON.stringify(VERSION_FIELD)};`,
  ].join("\n\n");
}
