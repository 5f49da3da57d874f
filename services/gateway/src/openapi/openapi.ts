import { routes } from "../routes/route-table.ts";
import { operationOf } from "./operation.ts";
import { ownPaths } from "./own-paths.ts";
import { PROBLEM, sharedResponses } from "./responses.ts";
import { schemaNames } from "./schema-names.ts";
import { withSharedSchemas, type Json } from "./shared-schemas.ts";

let made: Json | null = null;

/** The OpenAPI 3.1 description of everything under `/api/v1`. */
export function openApi(): Json {
  made ??= makeDocument();
  return made;
}

function makeDocument(): Json {
  const responses = new Map<string, Json>();
  const paths = { ...contractPaths(responses), ...ownPaths() };
  return withSharedSchemas(
    {
      openapi: "3.1.0",
      info: {
        title: "Switchyard",
        version: "1.0.0",
        description:
          "Every operation is a contract of docs/reference/subjects.md, called as the caller of the credential. Errors are RFC 9457 problems.",
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/api/v1", description: "This gateway" }],
      security: [{ bearer: [] }],
      paths,
      components: {
        securitySchemes: {
          bearer: {
            type: "http",
            scheme: "bearer",
            description: "An API key (yk_…) or a token of a configured issuer",
          },
        },
        parameters: {
          ifNoneMatch: header(
            "If-None-Match",
            "ETags of the versions that the client has; 304 without a body when one of them is current.",
          ),
          ifMatch: header(
            "If-Match",
            "ETag of the version that was read; 412 and no change when there is another version.",
          ),
        },
        headers: {
          etag: {
            description: "Version of the answer, for If-None-Match and If-Match.",
            schema: { type: "string" },
            example: '"42"',
          },
        },
        schemas: { Problem: PROBLEM },
        responses: { ...sharedResponses(), ...Object.fromEntries(responses) },
      },
    },
    schemaNames(),
  );
}

function contractPaths(responses: Map<string, Json>): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    if (route.isAlias === true) continue;
    const path = (paths[route.path] ??= {});
    path[route.method] = operationOf(route, responses);
  }
  return paths;
}

function header(name: string, description: string): Json {
  return {
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
    example: '"42"',
  };
}
