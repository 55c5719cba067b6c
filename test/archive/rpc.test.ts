import { create } from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { expect, test } from "vitest";
import {
  BackupService,
  ExportArchiveRequestSchema,
} from "../../gen/mooring/v1/backup_service_pb.js";
import type { Archive } from "../../src/archive/archive.ts";
import { archiveImpl } from "../../src/archive/rpc.ts";

test("exports that are recorded together are answered in a tick each", async () => {
  const recorded = Promise.withResolvers<void>();
  const archive = { export: async () => ({ counts: {} }) } as unknown as Archive;
  const { exportArchive } = archiveImpl(archive, {
    record: () => recorded.promise,
    note: () => {},
  });
  const context = {
    method: BackupService.method.exportArchive,
    values: createContextValues(),
  } as unknown as HandlerContext;
  const loops: number[] = [];
  const answers = [1, 2, 3].map(async () => {
    await exportArchive(create(ExportArchiveRequestSchema), context);
    loops.push(performance.nodeTiming.uvMetricsInfo.loopCount);
  });
  await new Promise(setImmediate);
  recorded.resolve();
  await Promise.all(answers);
  expect(new Set(loops).size).toBe(3);
});
