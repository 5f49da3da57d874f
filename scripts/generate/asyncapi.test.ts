import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Ajv } from "ajv";
import { asyncApi } from "./asyncapi.ts";

test("is a valid AsyncAPI 3.1 document, and a broken copy is not", async () => {
  const path = createRequire(import.meta.url).resolve(
    "@asyncapi/specs/schemas/3.1.0-without-$id.json",
  );
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, logger: false });
  const validate = ajv.compile(JSON.parse(await readFile(path, "utf8")));
  const document = asyncApi();

  assert.ok(validate(document), JSON.stringify(validate.errors?.slice(0, 5), null, 2));
  assert.equal(validate({ ...document, channels: { broken: { adress: "yard.typo" } } }), false);
});
