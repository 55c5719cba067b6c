import type { WireCase } from "./case.ts";
import { downloaderCases } from "./downloader.ts";
import { driverCases } from "./driver.ts";
import { historyCases } from "./history.ts";
import { publicCases } from "./public.ts";
import { settingReadCases } from "./setting-read.ts";
import { settingSaveCases } from "./setting-save.ts";
import { tokenCases } from "./token.ts";

/** The table: every case runs over every transport. */
export const allCases: readonly WireCase[] = [
  ...publicCases,
  ...driverCases,
  ...settingReadCases,
  ...settingSaveCases,
  ...historyCases,
  ...downloaderCases,
  ...tokenCases,
];
