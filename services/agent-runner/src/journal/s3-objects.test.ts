import assert from "node:assert/strict";
import { test } from "node:test";
import { readS3Url } from "./s3-objects.ts";

test("a URL of the archive names a bucket, and may name a prefix, a region and a store", () => {
  assert.deepEqual(readS3Url("s3://runs"), {
    bucket: "runs",
    prefix: "",
    region: undefined,
    endpoint: undefined,
  });
  assert.deepEqual(
    readS3Url("s3://our.runs/a/b/?region=eu-central-1&endpoint=http://minio.data:9000"),
    {
      bucket: "our.runs",
      prefix: "a/b/",
      region: "eu-central-1",
      endpoint: "http://minio.data:9000",
    },
  );
});

test("a URL that is not understood as a whole is refused", () => {
  const wrong = [
    "runs",
    "https://runs",
    "s3://",
    "s3://Runs_1",
    "s3://ab",
    "s3://runs:9000/",
    "s3://key:secret@runs/",
    "s3://runs/a?acl=public",
    "s3://runs/a?region=",
    "s3://runs/a?endpoint=minio:9000",
    "s3://runs/a?endpoint=https://key:secret@minio",
    "s3://runs/ä b",
    "s3://runs/a#b",
  ];
  for (const url of wrong) assert.equal(readS3Url(url), null, url);
});
