import type { Page } from "@playwright/test";

/** A PNG image in base64, and the caption above it. */
export interface Frame {
  name: string;
  png: string;
}

/** Draws rows of captioned frames `width` pixels wide, as WebP of less than `largest` bytes. */
export async function contactSheet(page: Page, rows: Frame[][], width: number, largest: number): Promise<Buffer> {
  await page.goto("about:blank");
  const base64 = await page.evaluate(
    async ({ rows, width, largest }) => {
      const read = async ({ name, png }: { name: string; png: string }) => {
        const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
        return { name, picture: await createImageBitmap(new Blob([bytes])) };
      };
      const [gap, head] = [12, 34];
      const pictures = await Promise.all(rows.map((row) => Promise.all(row.map(read))));
      const height = ({ picture }: { picture: ImageBitmap }) => Math.round((width * picture.height) / picture.width);
      const heights = pictures.map((row) => Math.max(...row.map(height)));
      const columns = Math.max(...pictures.map((row) => row.length));
      const canvas = new OffscreenCanvas(columns * (width + gap) + gap, heights.reduce((sum, one) => sum + one + head + gap, 0));
      const context = canvas.getContext("2d")!;
      context.fillStyle = "#8a8f98";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.fillStyle = "#000000";
      context.font = "18px sans-serif";
      context.imageSmoothingQuality = "high";
      let top = 0;
      for (const [row, frames] of pictures.entries()) {
        for (const [column, frame] of frames.entries()) {
          const left = gap + column * (width + gap);
          context.fillText(frame.name, left, top + 23, width);
          context.drawImage(frame.picture, left, top + head, width, height(frame));
        }
        top += heights[row] + head + gap;
      }
      for (let quality = 0.9; quality > 0.15; quality -= 0.1) {
        const blob = await canvas.convertToBlob({ type: "image/webp", quality });
        if (blob.size >= largest) continue;
        let text = "";
        for (const byte of new Uint8Array(await blob.arrayBuffer())) text += String.fromCharCode(byte);
        return btoa(text);
      }
      throw new Error(`a sheet of ${canvas.width} × ${canvas.height} pixels has ${largest} bytes or more at every quality`);
    },
    { rows, width, largest },
  );
  return Buffer.from(base64, "base64");
}
