import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.FileReader;
import java.lang.management.ManagementFactory;
import weka.classifiers.trees.J48;
import weka.core.Instances;

/** Prints the CPU seconds of one fit of Weka's J48 (all threads, mean of FITS after as many), then the tree. */
class J48Cost {
    public static void main(String[] arguments) throws Exception {
        Instances rows = new Instances(new BufferedReader(new FileReader(arguments[0])));
        rows.setClassIndex(rows.numAttributes() - 1);
        int fits = Integer.parseInt(arguments[1]);
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        J48 tree = null;
        long start = 0;
        for (int i = -fits; i < fits; i++) {
            if (i == 0) start = system.getProcessCpuTime();
            tree = new J48();
            tree.buildClassifier(rows);
        }
        System.out.println((system.getProcessCpuTime() - start) / 1e9 / fits);
        System.out.println(tree);
    }
}
