// Loads a snapshot of the metadata log into an image with the classes of the Apache Kafka jars on the class path, and
// writes it again. Arguments: the directory of the snapshot, its end offset, its epoch, how many rounds count.
//
// Lines "NAME VALUE" are printed: for each round "replay" (records per second from bytes in memory), "load" and "write"
// (seconds from and to a file), and once "bytes" (of the heap that the image takes). Until WARM_UP_S have passed nothing
// counts.

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RaftSnapshotWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.FileRawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

public class Images {
    private static final double WARM_UP_S = 4;
    private static final int MAX_BATCH_BYTES = 8 << 20;
    private static final int RECORDS_A_BATCH = 1024;

    private final Path directory;
    private final OffsetAndEpoch id;
    private byte[][] frames;
    private MetadataImage image;

    private Images(Path directory, OffsetAndEpoch id) {
        this.directory = directory;
        this.id = id;
    }

    public static void main(String[] arguments) throws Exception {
        var id = new OffsetAndEpoch(Long.parseLong(arguments[1]), Integer.parseInt(arguments[2]));
        new Images(Path.of(arguments[0]), id).measure(Integer.parseInt(arguments[3]));
    }

    private void measure(int rounds) throws Exception {
        readFrames();
        long started = System.nanoTime();
        while (secondsSince(started) < WARM_UP_S) {
            replay();
            load();
            write();
        }
        for (int round = 0; round < rounds; round++) {
            image = null;
            System.gc();
            long replaying = System.nanoTime();
            replay();
            System.out.println("replay " + frames.length / secondsSince(replaying));
            image = null;
            System.gc();
            long loading = System.nanoTime();
            load();
            System.out.println("load " + secondsSince(loading));
            long writing = System.nanoTime();
            write();
            System.out.println("write " + secondsSince(writing));
        }
        image = null;
        long without = usedHeap();
        replay();
        System.out.println("bytes " + (usedHeap() - without));
    }

    private static double secondsSince(long started) {
        return (System.nanoTime() - started) / 1e9;
    }

    private static long usedHeap() {
        System.gc();
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private void readFrames() throws Exception {
        List<byte[]> read = new ArrayList<>();
        var sizes = new ObjectSerializationCache();
        try (var snapshot = open(directory, id)) {
            while (snapshot.hasNext()) {
                for (ApiMessageAndVersion record : snapshot.next()) {
                    var buffer = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, sizes));
                    MetadataRecordSerde.INSTANCE.write(record, sizes, new ByteBufferAccessor(buffer));
                    read.add(buffer.array());
                }
            }
        }
        frames = read.toArray(new byte[0][]);
    }

    private void replay() {
        MetadataDelta delta = new MetadataDelta.Builder().build();
        for (byte[] frame : frames) {
            var accessor = new ByteBufferAccessor(ByteBuffer.wrap(frame));
            delta.replay(MetadataRecordSerde.INSTANCE.read(accessor, frame.length).message());
        }
        image = delta.apply(provenance());
    }

    private void load() throws Exception {
        MetadataDelta delta = new MetadataDelta.Builder().build();
        try (var snapshot = open(directory, id)) {
            while (snapshot.hasNext()) {
                for (ApiMessageAndVersion record : snapshot.next()) {
                    delta.replay(record.message());
                }
            }
        }
        image = delta.apply(provenance());
    }

    private static RecordsSnapshotReader<ApiMessageAndVersion> open(Path directory, OffsetAndEpoch id) {
        return RecordsSnapshotReader.of(
            FileRawSnapshotReader.open(directory, id),
            MetadataRecordSerde.INSTANCE,
            BufferSupplier.create(),
            MAX_BATCH_BYTES,
            true,
            new LogContext()
        );
    }

    private void write() throws Exception {
        Path scratch = Files.createTempDirectory(directory, "written");
        var file = FileRawSnapshotWriter.create(scratch, id);
        var records = new RecordsSnapshotWriter.Builder()
            .setLastContainedLogTimestamp(0)
            .setMaxBatchSizeBytes(MAX_BATCH_BYTES)
            .setRawSnapshotWriter(file)
            .<ApiMessageAndVersion>build(MetadataRecordSerde.INSTANCE);
        var writer = new RaftSnapshotWriter(records, RECORDS_A_BATCH);
        image.write(writer, new ImageWriterOptions.Builder(image).build());
        writer.close(true);
        records.close();
        try (var left = Files.list(scratch)) {
            for (Path path : left.toList()) {
                Files.delete(path);
            }
        }
        Files.delete(scratch);
    }

    private MetadataProvenance provenance() {
        return new MetadataProvenance(id.offset() - 1, id.epoch(), 0, true);
    }
}
