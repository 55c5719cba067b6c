import { create } from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { expect, test } from "vitest";
import {
  ExportSettingsRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import type { BackupService } from "../../src/archive/backup.ts";
import { backupImpl } from "../../src/archive/rpc.ts";
import { snapshotOf } from "../settings/staged.ts";

test("exports that are recorded together are answered in a tick each", async () => {
  const recorded = Promise.withResolvers<void>();
  const backup = { export: async () => ({}) } as unknown as BackupService;
  const snapshot = snapshotOf(1, []);
  const { exportSettings } = backupImpl(backup, () => snapshot, {
    record: () => recorded.promise,
    note: () => {},
  });
  const context = {
    method: SettingService.method.exportSettings,
    values: createContextValues(),
  } as unknown as HandlerContext;
  const loops: number[] = [];
  const answers = [1, 2, 3].map(async () => {
    await exportSettings(create(ExportSettingsRequestSchema), context);
    loops.push(performance.nodeTiming.uvMetricsInfo.loopCount);
  });
  await new Promise(setImmediate);
  recorded.resolve();
  await Promise.all(answers);
  expect(new Set(loops).size).toBe(3);
});
